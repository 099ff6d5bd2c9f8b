import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Map;
import java.util.Properties;

/**
 * Says what java.util.Properties makes of many files: in comes a length and
 * the bytes of each, -1 ends them; out goes the number of keys, or -1 where
 * Java refuses the file, then length and UTF-16 units of each key and value.
 */
public class LoadProperties {
    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        for (int size = in.readInt(); size >= 0; size = in.readInt()) {
            answer(in.readNBytes(size), out);
        }
        out.flush();
    }

    private static void answer(byte[] file, DataOutputStream out) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new ByteArrayInputStream(file));
        } catch (IllegalArgumentException e) {
            out.writeInt(-1);
            return;
        }
        out.writeInt(properties.size());
        for (Map.Entry<Object, Object> e : properties.entrySet()) {
            write((String) e.getKey(), out);
            write((String) e.getValue(), out);
        }
    }

    private static void write(String text, DataOutputStream out) throws IOException {
        out.writeInt(text.length());
        out.writeChars(text);
    }
}
